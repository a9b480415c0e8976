package starlark

import (
	"errors"
	"maps"
	"slices"
)

// Check compiles a script and the files that are pushed with it, without running them. main is
// the name of the entry point; files holds contents by name, and must include the files that
// load() names. Errors have file:line:column. A script that only defines functions is an error
// too.
func Check(main string, files map[string][]byte) error {
	c := &compiler{modules: map[string]*program{}, files: slices.Sorted(maps.Keys(files)), find: func(name string) ([]byte, error) {
		source, ok := files[name]
		if !ok {
			return nil, errNoModule
		}
		return source, nil
	}}
	if _, err := c.entry(main, files[main]); err != nil {
		return err
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != main {
			all = append(all, c.load(name))
		}
	}
	return errors.Join(all...)
}
