package files

// OnStep has f called before each step of Apply.
func (c *Change) OnStep(f func(name string)) { c.step = f }
