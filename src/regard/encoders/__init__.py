"""Encoders: recurrent, convolutional and Transformer; all return `EncoderOutput`."""
