package shim

// stage does one stage, and does not return where there is one of that name.
func stage(name string, args []string) {
	if name == "host" {
		host(args)
	}
}
