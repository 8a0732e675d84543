"""The mathematics: scores, attention, positions, cells, embeddings, blocks, readouts.

One letter per axis, here, in annotations, in tests and in `docs/architecture.md`:

B sentences in a batch        S source positions (keys)       T target positions (queries)
E embedding width             D decoder or model width        M memory width (encoder output)
A alignment width             N value width                   V vocabulary
H heads                       K width of a head               F feed-forward width
L layers                      G gates' width                  R rows
C width of a summary          I, X a layer's input width      O, P its output width, a padded length
"""
