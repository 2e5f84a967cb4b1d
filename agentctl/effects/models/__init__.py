"""Model providers: one contract, an adapter per protocol, one transport under all of them."""
