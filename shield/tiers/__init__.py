"""The tiers behind one Protocol, and the algebra that makes one verdict of their opinions."""
