"""What tests share: servers that misbehave, and small tools to drive the parts."""
