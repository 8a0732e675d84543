"""Read the source once: recurrent, convolutional or Transformer, all giving `EncoderOutput`."""
