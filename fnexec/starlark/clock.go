package starlark

import (
	"errors"
	"fmt"
	"strings"
	"time"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// timeModule returns the library's module without the clock and without the zone of this machine,
// so that the same input always gives the same output.
func timeModule() *starlarkstruct.Module {
	m := &starlarkstruct.Module{Name: "time", Members: starlark.StringDict{}}
	for n, v := range startime.Module.Members {
		m.Members[n] = v
	}
	m.Members["now"] = starlark.NewBuiltin("time.now", noClock)
	for _, name := range []string{"parse_time", "time"} {
		m.Members[name] = starlark.NewBuiltin(name, notLocal(startime.Module.Members[name]))
	}
	m.Members["is_valid_timezone"] = starlark.NewBuiltin("is_valid_timezone", isZone)
	m.Members["from_timestamp"] = starlark.NewBuiltin("from_timestamp", fromTimestamp)
	return m
}

func noClock(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return nil, errors.New("time.now: a function has no clock, so that its output can be reproduced")
}

// local reports whether a value names the zone of this machine.
func local(v starlark.Value) bool {
	name, ok := starlark.AsString(v)
	return ok && (strings.EqualFold(name, "Local") || strings.EqualFold(name, "localtime"))
}

// checkZone refuses the zone of this machine.
func checkZone(_ starlark.Value, args []starlark.Value) error {
	for _, v := range args {
		if local(v) {
			return fmt.Errorf("unknown time zone %s: a function has no zone of a machine, so that its output can be reproduced", v)
		}
	}
	return nil
}

func notLocal(inner starlark.Value) builtin {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := checkZone(nil, everything(args, kwargs)); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		return starlark.Call(t, inner, args, kwargs)
	}
}

func isZone(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 1 && local(args[0]) {
		return starlark.False, nil
	}
	return starlark.Call(t, startime.Module.Members["is_valid_timezone"], args, kwargs)
}

// fromTimestamp is the library's function in UTC, as in kpt's container.
func fromTimestamp(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(t, startime.Module.Members[b.Name()], args, kwargs)
	if at, ok := v.(startime.Time); ok && err == nil {
		return startime.Time(time.Time(at).UTC()), nil
	}
	return v, err
}
