"""What the tools do, once Shield has signed for it. Only `agentctl.execute` may import the modules that act."""
