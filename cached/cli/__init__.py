"""The programs `cached` and `cachectl`: one module a noun. They reach the daemon through cached.api alone."""
