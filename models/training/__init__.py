"""Makes the classifier of tier 1 out of written banks and public text: corpus, tokenizer, training, export, report."""
