package starlark

import (
	"errors"
	"maps"
	"slices"
)

// Check compiles a script without running it, and the files that are pushed with it: main
// is the name of the entry point, files hold the content by name. Files that load() names
// have to be among them. What is wrong is said with file:line:column. A script that only
// defines functions is wrong too.
func Check(main string, files map[string][]byte) error {
	c := &compiler{modules: map[string]*program{}, find: func(name string) ([]byte, error) {
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
