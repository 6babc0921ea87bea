package api

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"telefuser/streaming"
	"telefuser/workers/contract"
)

// sessionDraft is a checked request on its way to a session.
type sessionDraft struct {
	spec streaming.Spec
	// picture is what has to be stored beside the session, as PNG.
	picture []byte
	// ignored are the fields that nobody here knows.
	ignored []string
}

// reservedIdentity begins the identities of our own participants, which nobody else may take.
const reservedIdentity = "telefuser-"

// draftSession checks the fields of a create. Clients of live sessions send what their pipeline wants and more; what is unknown is not refused but named.
func (s *Server) draftSession(ctx context.Context, who caller, f *fields) (sessionDraft, error) {
	if err := mergeExtras(f, "config"); err != nil {
		return sessionDraft{}, err
	}
	identity, err := takeIdentity(f)
	if err != nil {
		return sessionDraft{}, err
	}
	if err := takeControllerRole(f); err != nil {
		return sessionDraft{}, err
	}
	param := "model"
	if f.values["pipeline"] != nil {
		param = "pipeline"
	}
	model, err := s.takePipeline(f)
	if err != nil {
		return sessionDraft{}, err
	}
	if model.contract.BatchOnly {
		return sessionDraft{}, badRequest(param, codeUnsupported, "The pipeline "+model.contract.Name+" makes whole videos, and no live sessions; ask /v1/videos for one.")
	}
	d := sessionDraft{spec: streaming.Spec{Pipeline: model.contract.Name, Controller: identity}}
	if d.spec.Prompt, err = takeSessionPrompt(f); err != nil {
		return sessionDraft{}, err
	}
	if err := s.takeSessionRules(f, &d.spec); err != nil {
		return sessionDraft{}, err
	}
	if err := renameImage(f); err != nil {
		return sessionDraft{}, err
	}
	ref, err := s.takeReference(ctx, who, f)
	if err != nil {
		return sessionDraft{}, err
	}
	if err := refusePaths(f); err != nil {
		return sessionDraft{}, err
	}
	return d, s.resolveSession(ctx, model, f, ref, &d)
}

// resolveSession takes the fields that are left: the contract's are checked, the rest is named.
func (s *Server) resolveSession(ctx context.Context, model chosen, f *fields, ref *reference, d *sessionDraft) error {
	bounded, err := renameFrames(f)
	if err != nil {
		return err
	}
	if value, given := f.take("camera"); given && value != nil {
		return badRequest("camera", codeUnsupported, "camera is not supported for live sessions: their controller flies them.")
	}
	for _, name := range sortedNames(f.values) {
		if _, known := model.contract.Field(name); known {
			continue
		}
		delete(f.values, name)
		if len(d.ignored) < ignoredMax {
			d.ignored = append(d.ignored, shown(name))
		}
	}
	if err := checkLeft(f); err != nil {
		return err
	}
	in := contract.Input{Inputs: []string{"prompt"}, Fields: f.values, Live: true}
	if ref != nil {
		in.Inputs = append(in.Inputs, "input_reference")
	}
	resolved, picture, err := s.resolve(ctx, model, in, ref)
	if err != nil {
		return err
	}
	d.picture = picture.PNG
	d.spec.Width, d.spec.Height, d.spec.FPS, d.spec.Parameters = resolved.Width, resolved.Height, resolved.FPS, resolved.Parameters
	if bounded {
		d.spec.Frames = resolved.Frames
	} else if d.spec.Delivery == streaming.DeliveryLossless {
		return badRequest("num_frames", codeMissingParameter, "A lossless session must have num_frames or seconds.")
	}
	d.spec.Seed = rand.Int64N(1 << 32)
	if resolved.Seed != nil {
		d.spec.Seed = *resolved.Seed
	}
	return nil
}

// takeIdentity takes the name of a participant.
func takeIdentity(f *fields) (string, error) {
	value, given := f.take("identity")
	if !given {
		return "", badRequest("identity", codeMissingParameter, "Missing required parameter: \"identity\".")
	}
	text, isText := value.(string)
	if !isText {
		return "", badRequest("identity", codeInvalidType, "Invalid type for 'identity': expected a string, but got "+kind(value)+" instead.")
	}
	if len(text) > identityBytesMax || !allIDLetters(text) || text == "" {
		return "", badRequest("identity", codeInvalidValue, "identity must be 1 to "+strconv.Itoa(identityBytesMax)+" letters, digits, dots, hyphens and underscores.")
	}
	if strings.HasPrefix(strings.ToLower(text), reservedIdentity) {
		return "", badRequest("identity", codeInvalidValue, "identity must not begin with "+reservedIdentity+".")
	}
	return text, nil
}

// takeControllerRole takes the role of whoever creates a session.
func takeControllerRole(f *fields) error {
	role, err := takeText(f, "role")
	if err == nil && role != "" && role != string(streaming.RoleController) {
		return badRequest("role", codeInvalidValue, "role must be controller: whoever creates a session controls it. Viewers get tokens of it.")
	}
	return err
}

// takePipeline finds the pipeline by either of its fields. Without them it is the default one, with its own defaults.
func (s *Server) takePipeline(f *fields) (chosen, error) {
	name, err := takeText(f, "pipeline")
	if err != nil {
		return chosen{}, err
	}
	model, err := takeText(f, "model")
	if err != nil {
		return chosen{}, err
	}
	if name != "" && model != "" && name != model {
		return chosen{}, contradiction("pipeline")
	}
	if name += strings.TrimPrefix(model, name); name == "" {
		return chosen{name: s.models.standard.Name, contract: s.models.standard}, nil
	}
	found, err := s.models.choose(name)
	found.openAI = false // a session has no use for their default size and length
	return found, err
}

// takeSessionPrompt takes the prompt, which a session need not have.
func takeSessionPrompt(f *fields) (string, error) {
	text, err := takeText(f, "prompt")
	if err != nil {
		return "", err
	}
	if utf8.RuneCountInString(text) > promptRunesMax || len(text) > sessionPromptBytesMax {
		return "", badRequest("prompt", codeTooLong, "prompt must have at most 32000 characters and 48 KiB.")
	}
	return text, nil
}

// takeSessionRules takes what is about the session and not about its picture.
func (s *Server) takeSessionRules(f *fields, spec *streaming.Spec) error {
	delivery, err := takeText(f, "delivery_mode")
	if err != nil {
		return err
	}
	spec.Delivery = streaming.Delivery(delivery)
	switch spec.Delivery {
	case "":
		spec.Delivery = streaming.DeliveryLatest
	case streaming.DeliveryLatest, streaming.DeliveryLossless:
	default:
		return badRequest("delivery_mode", codeInvalidValue, "delivery_mode must be latest or lossless.")
	}
	if spec.ControlIdleTimeout, err = takeSeconds(f, "control_idle_timeout", s.cfg.Stream.ControlIdleTimeout, 0, time.Hour); err != nil {
		return err
	}
	spec.SessionTimeout, err = takeSeconds(f, "session_timeout", s.cfg.Stream.SessionTimeout, time.Second, s.cfg.Stream.SessionTimeout)
	return err
}

// takeSeconds takes a duration that is given in seconds, as a number or as text.
func takeSeconds(f *fields, name string, standard, least, most time.Duration) (time.Duration, error) {
	value, given := f.take(name)
	if !given {
		return standard, nil
	}
	text := ""
	switch v := value.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || seconds < least.Seconds() || seconds > most.Seconds() {
		return 0, badRequest(name, codeInvalidValue, name+" must be a number of seconds from "+strconv.FormatFloat(least.Seconds(), 'f', -1, 64)+" to "+
			strconv.FormatFloat(most.Seconds(), 'f', -1, 64)+".")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// renameImage gives the picture of a session the name that it has in videos. A path on the server is no picture.
func renameImage(f *fields) error {
	if value, given := f.take("image_path"); given {
		text, isText := value.(string)
		if !isText || len(text) < 5 || !strings.EqualFold(text[:5], "data:") {
			return badRequest("image_path", codeUnsupported, "image_path must be a data URL. Paths on the server are never accepted.")
		}
		if f.values["image"] != nil {
			return contradiction("image")
		}
		f.values["image"] = text
	}
	value, given := f.take("image")
	if !given {
		return nil
	}
	if f.values["input_reference"] != nil {
		return contradiction("image")
	}
	f.values["input_reference"] = value
	return nil
}

// renameFrames gives the length its usual name and says whether there is one: a session without has no end of its own.
func renameFrames(f *fields) (bounded bool, err error) {
	for _, name := range []string{"frames", "frame_num"} {
		value, given := f.take(name)
		if !given {
			continue
		}
		if f.values["num_frames"] != nil {
			return false, contradiction(name)
		}
		f.values["num_frames"] = value
	}
	return slices.ContainsFunc([]string{"num_frames", "seconds"}, func(name string) bool {
		value := f.values[name]
		return value != nil && value != "null"
	}), nil
}
