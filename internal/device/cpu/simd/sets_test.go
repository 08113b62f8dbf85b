package simd

import (
	"reflect"
	"strings"
	"testing"
)

// TestSetsAreComplete looks for kernels that a set lacks.
func TestSetsAreComplete(t *testing.T) {
	for _, s := range Sets() {
		if len(s.Tiles) != s.TileRows+1 {
			t.Errorf("%s: tiles of %d rows, want %d", s.Name, len(s.Tiles)-1, s.TileRows)
		}
		v := reflect.ValueOf(*s)
		for i := range v.NumField() {
			kernels(t, s.Name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
}

func kernels(t *testing.T, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Func:
		if v.IsNil() {
			t.Errorf("%s is missing", name)
		}
	case reflect.Slice:
		for i := 1; i < v.Len(); i++ { // from one row on
			kernels(t, name, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			kernels(t, name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Int:
		if v.Int() < 1 {
			t.Errorf("%s is %d", name, v.Int())
		}
	}
}

// TestFind looks sets up by name.
func TestFind(t *testing.T) {
	all := Sets()
	for _, s := range all {
		if got, err := Find(s.Name); got != s || err != nil {
			t.Errorf("Find(%q) = %v, %v", s.Name, got, err)
		}
	}
	if got, err := Find(Generic); got != nil || err != nil {
		t.Errorf("Find(%q) = %v, %v", Generic, got, err)
	}
	got, err := Find("")
	if err != nil || len(all) > 0 && got != all[0] || len(all) == 0 && got != nil {
		t.Errorf("Find(\"\") = %v, %v", got, err)
	}
	if _, err := Find("z80"); err == nil || !strings.Contains(err.Error(), Generic) {
		t.Errorf("Find of a set that is not there: %v", err)
	}
}
