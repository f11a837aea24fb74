"""Shield, the policy decision point: judges every proposed tool call and signs what it allows. It never runs a tool."""
