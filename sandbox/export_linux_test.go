package sandbox

// LandlockVersion is landlockVersion, for tests from outside.
func LandlockVersion() int { return landlockVersion() }

// AsOldAs has a machine go by an older version of Landlock than its kernel's.
func AsOldAs(h *Host, version int) *Host {
	h.options.landlock = version
	return h
}
