// Command checker reads one history per line from standard input, and says of each whether it is linearizable: one line of JSON
// {"name", "result": "Ok" | "Illegal" | "Unknown", "operations", "keys", "violations"}. With -html FOLDER it draws those that are not.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

type history struct {
	Name       string      `json:"name"`
	Operations []operation `json:"operations"`
}

type operation struct {
	Client int    `json:"client"`
	Verb   string `json:"verb"`
	Key    string `json:"key"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"`
	Input  input  `json:"input"`
	Output output `json:"output"`
}

type verdict struct {
	Name       string                `json:"name"`
	Result     porcupine.CheckResult `json:"result"`
	Operations int                   `json:"operations"`
	Keys       int                   `json:"keys"`
	Violations []string              `json:"violations"`
}

func main() {
	folder := flag.String("html", "", "folder for pictures of histories that are not linearizable")
	timeout := flag.Duration("timeout", 60*time.Second, "for one history; after it the result is Unknown")
	flag.Parse()
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	decoder := json.NewDecoder(lines)
	for decoder.More() {
		var one history
		if err := decoder.Decode(&one); err != nil {
			fmt.Fprintln(os.Stderr, "not a history:", err)
			os.Exit(2)
		}
		if err := answers.Encode(check(one, *timeout, *folder)); err != nil {
			os.Exit(2)
		}
	}
}

func check(one history, timeout time.Duration, folder string) verdict {
	parts := model.Partition(operations(one))
	result := verdict{Name: one.Name, Result: porcupine.Ok, Operations: len(one.Operations), Keys: len(parts), Violations: []string{}}
	deadline := time.Now().Add(timeout)
	for _, part := range parts {
		found, info := porcupine.CheckOperationsVerbose(model, part, max(time.Until(deadline), time.Millisecond))
		if found == porcupine.Ok {
			continue
		}
		key := part[0].Input.(input).Key
		result.Violations = append(result.Violations, fmt.Sprintf("%s is %s: %s", key, found, stuck(part, info)))
		if result.Result != porcupine.Illegal {
			result.Result = found
		}
		if folder != "" {
			file := filepath.Join(folder, fmt.Sprintf("%s-%s.html", one.Name, key))
			if err := porcupine.VisualizePath(model, info, file); err != nil {
				fmt.Fprintln(os.Stderr, "no picture:", err)
			}
		}
	}
	return result
}

// stuck names the first operation, by its answer, that no order explains.
func stuck(part []porcupine.Operation, info porcupine.LinearizationInfo) string {
	explained := 0
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > explained {
				explained, longest = len(order), order
			}
		}
	}
	has := func(one porcupine.Operation) bool {
		return slices.ContainsFunc(longest, func(other porcupine.Operation) bool {
			return other.Call == one.Call && other.ClientId == one.ClientId
		})
	}
	var first *porcupine.Operation
	for _, one := range part {
		if !has(one) && (first == nil || one.Return < first.Return) {
			first = &one
		}
	}
	if first == nil {
		return "no order found"
	}
	reached := model.Init()
	for _, one := range longest {
		_, reached = model.Step(reached, one.Input, one.Output)
	}
	return fmt.Sprintf("%s does not follow from %s, after %d of %d operations",
		describe(first.Input, first.Output), describeState(reached.(state)), explained, len(part))
}

// operations are those of a history. One whose answer was lost is open until the end: it may happen at any time.
func operations(one history) []porcupine.Operation {
	var all []porcupine.Operation
	for _, each := range one.Operations {
		each.Input.Verb, each.Input.Key = each.Verb, each.Key
		end := each.Return
		if each.Output.IsLost {
			end = math.MaxInt64
		}
		all = append(all, porcupine.Operation{
			ClientId: each.Client, Input: each.Input, Call: each.Call, Output: each.Output, Return: end,
		})
	}
	return all
}
