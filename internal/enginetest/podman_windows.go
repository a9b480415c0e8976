package enginetest

// podmanLimits are podman's own, which runs its containers on another machine.
func podmanLimits() string { return "" }
