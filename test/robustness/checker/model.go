package main

import (
	"github.com/anishathalye/porcupine"
)

// object is what a client sees of one. Its JSON is written by test/robustness/history.ts.
type object struct {
	UID             string `json:"uid"`
	ResourceVersion int64  `json:"resourceVersion"`
	Value           string `json:"value"`
	HasFinalizer    bool   `json:"hasFinalizer"`
	IsDeleting      bool   `json:"isDeleting"`
}

type input struct {
	Verb            string `json:"verb"`
	Key             string `json:"key"`
	Value           string `json:"value"`
	ResourceVersion int64  `json:"resourceVersion"`
	UID             string `json:"uid"`
	Finalizer       *bool  `json:"finalizer"`
}

type output struct {
	IsLost bool    `json:"isLost"`
	Status int     `json:"status"`
	Object *object `json:"object"`
}

// state of one key. A write of unknown outcome leaves its resourceVersion and UID unknown (zero) until an answer shows them.
type state struct {
	exists bool
	object
	// All later revisions of the key are greater.
	floor int64
}

// model is the API as a client sees one object, without concurrency. The outcome of every write is known to it but for the
// resourceVersions and UIDs, which it takes from answers.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, in, out any) (bool, any) {
		return step(before.(state), in.(input), out.(output))
	},
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var keys []string
		byKey := map[string][]porcupine.Operation{}
		for _, operation := range history {
			key := operation.Input.(input).Key
			if byKey[key] == nil {
				keys = append(keys, key)
			}
			byKey[key] = append(byKey[key], operation)
		}
		var parts [][]porcupine.Operation
		for _, key := range keys {
			parts = append(parts, byKey[key])
		}
		return parts
	},
	DescribeOperation: describe,
	DescribeState:     func(s any) string { return describeState(s.(state)) },
}

func step(s state, in input, out output) (bool, state) {
	if out.IsLost {
		return true, lost(s, in)
	}
	switch {
	case out.Status == 404:
		return !s.exists && in.Verb != "create" && in.Verb != "apply", s
	case out.Status == 409:
		return mayConflict(s, in), s
	case out.Status == 200 || out.Status == 201:
		return done(s, in, out)
	}
	return false, s
}

// lost is the state after a write that no answer speaks of, had it been carried out at this moment.
func lost(s state, in input) state {
	switch in.Verb {
	case "create":
		if s.exists {
			return s
		}
		return written(s, in, nil)
	case "apply":
		return written(s, in, nil)
	case "update", "merge":
		if !s.exists || !fits(s, in) {
			return s
		}
		return written(s, in, nil)
	case "delete":
		if !s.exists || !fits(s, in) {
			return s
		}
		return deleted(s, nil)
	}
	return s
}

func done(s state, in input, out output) (bool, state) {
	object := out.Object
	switch in.Verb {
	case "get":
		if !s.exists || object == nil || !shows(s, *object) {
			return false, s
		}
		s.object = *object
		return true, s
	case "create":
		if s.exists || out.Status != 201 {
			return false, s
		}
	case "apply":
		if s.exists != (out.Status == 200) {
			return false, s
		}
	case "update", "merge":
		if !s.exists || !fits(s, in) || out.Status != 200 {
			return false, s
		}
	case "delete":
		if !s.exists || !fits(s, in) || out.Status != 200 {
			return false, s
		}
		after := deleted(s, object)
		// What stays is in the answer; of what is gone the answer may be a Status.
		return !after.exists || object != nil && shows(after, *object) && object.ResourceVersion >= s.floor, after
	}
	after := written(s, in, object)
	if object == nil || object.Value != in.Value {
		return false, s
	}
	if !after.exists { // the last finalizer is gone
		return true, after
	}
	return object.ResourceVersion > latest(s) && shows(after, *object), after
}

// written is the state after a write of the key; object is what the answer shows, if there is one.
func written(s state, in input, object *object) state {
	after := state{exists: true, floor: latest(s)}
	if s.exists {
		after.UID, after.HasFinalizer, after.IsDeleting = s.UID, s.HasFinalizer, s.IsDeleting
	}
	after.Value = in.Value
	if in.Finalizer != nil {
		after.HasFinalizer = *in.Finalizer
	}
	if after.IsDeleting && !after.HasFinalizer {
		return state{floor: latest(s)}
	}
	if object != nil {
		after.ResourceVersion = object.ResourceVersion
		if after.UID == "" {
			after.UID = object.UID
		}
	}
	return after
}

func deleted(s state, object *object) state {
	if !s.HasFinalizer {
		return state{floor: latest(s)}
	}
	if s.IsDeleting {
		return s
	}
	after := s
	after.IsDeleting, after.floor, after.ResourceVersion = true, latest(s), 0
	if object != nil {
		after.ResourceVersion = object.ResourceVersion
	}
	return after
}

func latest(s state) int64 { return max(s.floor, s.ResourceVersion) }

// fits tells whether the preconditions of a write hold. Where the state does not know, they do if they can.
func fits(s state, in input) bool {
	if in.ResourceVersion != 0 && s.ResourceVersion != in.ResourceVersion {
		if s.ResourceVersion != 0 || in.ResourceVersion <= s.floor {
			return false
		}
	}
	return in.UID == "" || s.UID == "" || s.UID == in.UID
}

func mayConflict(s state, in input) bool {
	if !s.exists {
		return false
	}
	switch in.Verb {
	case "create":
		return true
	case "merge", "apply":
		// Without a resourceVersion the server tries a patch a few times, and then says that others were always faster.
		return in.ResourceVersion == 0 || s.ResourceVersion != in.ResourceVersion
	case "update", "delete":
		return in.ResourceVersion != 0 && s.ResourceVersion != in.ResourceVersion ||
			in.UID != "" && (s.UID == "" || s.UID != in.UID)
	}
	return false
}

// shows tells whether the object is what the state says, as far as that is known.
func shows(s state, o object) bool {
	if s.ResourceVersion == 0 && o.ResourceVersion <= s.floor || s.ResourceVersion != 0 && s.ResourceVersion != o.ResourceVersion {
		return false
	}
	if s.UID != "" && s.UID != o.UID {
		return false
	}
	return s.Value == o.Value && s.HasFinalizer == o.HasFinalizer && s.IsDeleting == o.IsDeleting
}
