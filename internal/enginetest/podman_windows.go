package enginetest

// podmanLimits returns no limits: podman runs its containers on another machine.
func podmanLimits() string { return "" }
