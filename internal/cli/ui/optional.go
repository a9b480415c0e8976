package ui

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// complete adds the fields of v that its JSON omits when empty to the decoded JSON. A template can
// use all fields, and an unknown name is still an error.
func complete(v reflect.Value, decoded any) {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		if writesItself(v) {
			return
		}
		v = v.Elem()
	}
	if !v.IsValid() || writesItself(v) {
		return
	}
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		if fields, ok := decoded.(map[string]any); ok {
			completeStruct(v, fields)
		}
	case kind == reflect.Map:
		fields, ok := decoded.(map[string]any)
		for it := v.MapRange(); ok && it.Next(); {
			if it.Key().Kind() == reflect.String {
				complete(it.Value(), fields[it.Key().String()])
			}
		}
	case kind == reflect.Slice, kind == reflect.Array:
		list, _ := decoded.([]any)
		for i := range list {
			complete(v.Index(i), list[i])
		}
	}
}

func completeStruct(v reflect.Value, decoded map[string]any) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && tag == "" {
			continue
		}
		at, err := v.FieldByIndexErr(f.Index)
		if err != nil {
			continue // it is in an embedded struct that is nil
		}
		name := f.Name
		if tag != "" {
			name = tag
		}
		if _, ok := decoded[name]; !ok {
			decoded[name] = emptyOf(f.Type)
			continue
		}
		complete(at, decoded[name])
	}
}

// emptyOf returns the decoded JSON of the zero value of a type.
func emptyOf(t reflect.Type) any {
	switch kind := t.Kind(); {
	case kind == reflect.String:
		return ""
	case kind == reflect.Bool:
		return false
	case kind == reflect.Slice, kind == reflect.Array:
		return []any{}
	case kind == reflect.Map:
		return map[string]any{}
	case kind >= reflect.Int && kind <= reflect.Uintptr:
		return int64(0)
	case kind == reflect.Float32, kind == reflect.Float64:
		return 0.0
	}
	return nil
}

// writesItself reports whether a value has an encoding of its own.
func writesItself(v reflect.Value) bool {
	if !v.CanInterface() {
		return true
	}
	for _, as := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if v.Type().Implements(as) || v.CanAddr() && v.Addr().Type().Implements(as) {
			return true
		}
	}
	return false
}
