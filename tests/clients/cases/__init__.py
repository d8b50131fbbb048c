"""The cases of the real-client suite: one module per client, and the claims they share."""
