// Parts as the Go SDK reads, writes, strips and translates them: one command a line comes in, one answer a line goes out.
// Nothing is judged here: whoever asks compares (interop/go.test.ts).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/digitallysavvy/go-ai/pkg/harness"
	"github.com/digitallysavvy/go-ai/pkg/provider"
)

type object = map[string]any

type command struct {
	Do string `json:"do"`
	// Base64: a part need not be UTF-8.
	Data  [][]byte        `json:"data"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
	Dir   string          `json:"dir"`
	// Whether the host ran the tools; otherwise the runtime did.
	Host bool `json:"host"`
}

// What is given back is text, so that the program that asked parses it with its own parser.
type answer struct {
	Parts  []string `json:"parts,omitempty"`
	Chunks []object `json:"chunks,omitempty"`
	Fault  string   `json:"fault,omitempty"`
	Detail string   `json:"detail,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var asked command
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		given, err := perform(asked)
		if err != nil {
			given = answer{Fault: faultOf(err), Detail: err.Error()}
		}
		if err := answers.Encode(given); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func faultOf(err error) string {
	if errors.Is(err, harness.ErrUnknownPartType) {
		return "unknown_type"
	}
	return "refused"
}

func perform(asked command) (answer, error) {
	if asked.Do == "marshal" {
		text, err := marshalTagged(asked)
		return answer{Parts: []string{text}}, err
	}
	parts, err := decode(asked.Data)
	if err != nil {
		return answer{}, err
	}
	switch asked.Do {
	case "decode":
		return marshal(parts)
	case "strip":
		for index, part := range parts {
			parts[index] = harness.StripWorkDir(part, asked.Dir)
		}
		return marshal(parts)
	case "strip-stream":
		strip := harness.NewToolInputWorkDirStripper(asked.Dir)
		var stripped []harness.StreamPart
		for _, part := range parts {
			stripped = append(stripped, strip(part)...)
		}
		return marshal(stripped)
	case "translate":
		options := harness.TranslateOptions{}
		if asked.Host {
			options.IsProviderExecuted = func(string) bool { return false }
		}
		var chunks []object
		for _, part := range parts {
			for _, chunk := range harness.TranslatePart(part, options) {
				chunks = append(chunks, show(chunk))
			}
		}
		return answer{Chunks: chunks}, nil
	default:
		return answer{}, fmt.Errorf("no such command: %s", asked.Do)
	}
}

func decode(data [][]byte) ([]harness.StreamPart, error) {
	parts := make([]harness.StreamPart, len(data))
	for index, each := range data {
		part, err := harness.DecodeStreamPart(each)
		if err != nil {
			return nil, err
		}
		parts[index] = part
	}
	return parts, nil
}

func marshal(parts []harness.StreamPart) (answer, error) {
	texts := make([]string, len(parts))
	for index, part := range parts {
		text, err := harness.MarshalStreamPart(part)
		if err != nil {
			return answer{}, err
		}
		texts[index] = string(text)
	}
	return answer{Parts: texts}, nil
}

func marshalTagged(asked command) (string, error) {
	var value any
	if err := json.Unmarshal(asked.Value, &value); err != nil {
		return "", err
	}
	text, err := harness.MarshalTagged(asked.Type, value)
	return string(text), err
}

// A chunk's own fields, those that are set: an error has no JSON of its own.
func show(chunk provider.StreamChunk) object {
	shown := object{"type": string(chunk.Type)}
	put(shown, "id", chunk.ID)
	put(shown, "text", chunk.Text)
	put(shown, "reasoning", chunk.Reasoning)
	if chunk.Type == provider.ChunkTypeRaw {
		shown["raw"] = chunk.Raw
	}
	if chunk.ProviderMetadata != nil {
		shown["providerMetadata"] = chunk.ProviderMetadata
	}
	if chunk.Warnings != nil {
		shown["warnings"] = chunk.Warnings
	}
	if call := chunk.ToolCall; call != nil {
		about := object{"toolCallId": call.ID}
		put(about, "toolName", call.ToolName)
		put(about, "title", call.Title)
		if call.Arguments != nil {
			about["input"] = call.Arguments
		}
		putRun(about, call.ProviderExecuted, call.Dynamic, call.ProviderMetadata)
		shown["call"] = about
	}
	if result := chunk.ToolResult; result != nil {
		about := object{"toolCallId": result.ToolCallID}
		put(about, "toolName", result.ToolName)
		if result.Error != nil {
			about["error"] = result.Error.Error()
		} else {
			about["output"] = result.Result
		}
		if result.Preliminary {
			about["preliminary"] = true
		}
		putRun(about, result.ProviderExecuted, result.Dynamic, result.ProviderMetadata)
		shown["result"] = about
	}
	return shown
}

func put(shown object, key, text string) {
	if text != "" {
		shown[key] = text
	}
}

func putRun(shown object, providerExecuted, dynamic bool, metadata object) {
	if providerExecuted {
		shown["providerExecuted"] = true
	}
	if dynamic {
		shown["dynamic"] = true
	}
	if metadata != nil {
		shown["providerMetadata"] = metadata
	}
}
