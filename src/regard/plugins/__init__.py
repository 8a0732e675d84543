"""Extensions that come with regard, each for one task; the library itself depends on none."""
