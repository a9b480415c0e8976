package sandbox

// LandlockVersion is landlockVersion for external tests.
func LandlockVersion() int { return landlockVersion() }

// AsOldAs makes a Host use an older version of Landlock than the kernel's.
func AsOldAs(h *Host, version int) *Host {
	h.options.landlock = version
	return h
}

// Grouped reports whether a control group with limits can be made here for a function in a
// namespace.
func Grouped(h *Host, l Limits) bool {
	g := h.options.group(l.OrDefault().withInit())
	defer g.close()
	return g != nil
}

// MoreProcesses returns how many more processes than its limit a function may have.
func MoreProcesses() int { return Limits{}.withInit().Processes }
