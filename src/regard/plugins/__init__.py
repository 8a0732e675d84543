"""Extensions that come with regard, for one task each; the library itself knows none of them."""
