package main

import (
	"fmt"
	"strings"
)

func describe(in, out any) string {
	i, o := in.(input), out.(output)
	var words []string
	if i.Value != "" {
		words = append(words, "value="+i.Value)
	}
	if i.UID != "" {
		words = append(words, "uid="+i.UID)
	}
	if i.ResourceVersion != 0 {
		words = append(words, fmt.Sprintf("resourceVersion=%d", i.ResourceVersion))
	}
	if i.Finalizer != nil {
		words = append(words, fmt.Sprintf("finalizer=%t", *i.Finalizer))
	}
	answer := fmt.Sprint(o.Status)
	if o.IsLost {
		answer = "lost"
	}
	if o.Object != nil {
		answer += " " + describeObject(*o.Object)
	}
	return fmt.Sprintf("%s(%s) → %s", i.Verb, strings.Join(words, ", "), answer)
}

func describeState(s state) string {
	if !s.exists {
		return fmt.Sprintf("absent (after revision %d)", s.floor)
	}
	return describeObject(s.object)
}

func describeObject(o object) string {
	text := fmt.Sprintf("{%s, revision %d", o.Value, o.ResourceVersion)
	if o.HasFinalizer {
		text += ", finalizer"
	}
	if o.IsDeleting {
		text += ", deleting"
	}
	return text + "}"
}
