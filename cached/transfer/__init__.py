"""Payload: a control process plans, signs and journals; worker processes move the bytes."""
