package sandbox

// LandlockVersion is landlockVersion, for tests from outside.
func LandlockVersion() int { return landlockVersion() }

// AsOldAs has a machine go by an older version of Landlock than its kernel's.
func AsOldAs(h *Host, version int) *Host {
	h.options.landlock = version
	return h
}

// Grouped reports whether a control group with limits can be made here, for a function that has a
// namespace.
func Grouped(h *Host, l Limits) bool {
	g := h.options.group(l.OrDefault().withInit())
	defer g.close()
	return g != nil
}

// MoreProcesses is how many more processes a function may turn out to have than its limit.
func MoreProcesses() int { return Limits{}.withInit().Processes }
