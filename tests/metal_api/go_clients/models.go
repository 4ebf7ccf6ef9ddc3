// Copyright: (c) 2026, equinix_metal.openshift contributors
// GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Reads answers with the models of equinix-sdk-go, on which Terraform's provider and the command line tool are built: a line of standard
// input is {"model": name, "call": text, "body": the answer}. What a model refuses is told, a line each; the exit status is then 1.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
	// Its own acceptance tests are run; only the pin is wanted here.
	_ "github.com/packethost/packngo"
)

type answer struct {
	Model string          `json:"model"`
	Call  string          `json:"call"`
	Body  json.RawMessage `json:"body"`
}

// models are the types that the client's calls return, by name: found through the calls themselves, so that none is forgotten.
func models() map[string]reflect.Type {
	found := map[string]reflect.Type{}
	client := reflect.ValueOf(metalv1.NewAPIClient(metalv1.NewConfiguration())).Elem()
	for i := range client.NumField() {
		service := client.Field(i).Type()
		if service.Kind() != reflect.Pointer {
			continue
		}
		for j := range service.NumMethod() {
			call := service.Method(j).Type
			if call.NumOut() != 1 {
				continue
			}
			execute, ok := call.Out(0).MethodByName("Execute")
			if ok && execute.Type.NumOut() == 3 {
				model := execute.Type.Out(0).Elem()
				found[model.Name()] = model
			}
		}
	}
	// Calls of older clients return these alone, and this client reads them in lists.
	for _, model := range []any{metalv1.Facility{}, metalv1.OperatingSystem{}, metalv1.Plan{}} {
		found[reflect.TypeOf(model).Name()] = reflect.TypeOf(model)
	}
	return found
}

func main() {
	known := models()
	lines := bufio.NewReader(os.Stdin)
	refused, read := 0, 0
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var given answer
		if err := json.Unmarshal(line, &given); err != nil {
			fmt.Printf("a line is not an answer: %v\n", err)
			os.Exit(2)
		}
		model, ok := known[given.Model]
		if !ok {
			fmt.Printf("%s: the client has no model %s\n", given.Call, given.Model)
			refused++
			continue
		}
		if err := json.Unmarshal(given.Body, reflect.New(model).Interface()); err != nil {
			fmt.Printf("%s: %s: %v\n", given.Call, given.Model, err)
			refused++
		}
		read++
	}
	fmt.Printf("read %d answers with %d models\n", read, len(known))
	if refused > 0 {
		os.Exit(1)
	}
}
