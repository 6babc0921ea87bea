package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Footprint is what one engine of a pipeline was measured to hold of each of its devices, in bytes: the largest of them counts.
type Footprint struct {
	// LoadedBytes is what it holds without a session.
	LoadedBytes int64 `json:"loaded_bytes"`
	// PeakBytes is the most that it held, by the most sessions that were open at once until then.
	PeakBytes  map[int]int64 `json:"peak_bytes"`
	MeasuredAt time.Time     `json:"measured_at"`
}

// Learn takes a measurement in and reports whether it tells anything new. Memory that was held once counts for ever.
func (f *Footprint) Learn(phase *PhaseFacts, now time.Time) bool {
	if phase == nil || len(phase.Devices) == 0 {
		return false
	}
	var most int64
	for _, d := range phase.Devices {
		bytes := d.Memory().Bytes()
		if bytes == nil {
			return false
		}
		most = max(most, *bytes)
	}
	before := f.PeakBytes[phase.Sessions]
	if phase.Sessions == 0 {
		before = f.LoadedBytes
	}
	if most <= before {
		return false
	}
	f.MeasuredAt = now
	if phase.Sessions == 0 {
		f.LoadedBytes = most
		return true
	}
	if f.PeakBytes == nil {
		f.PeakBytes = map[int]int64{}
	}
	f.PeakBytes[phase.Sessions] = most
	return true
}

// Bytes is what an engine with so many sessions needs of a device: as measured, or along the line through what was measured. It is false
// where no session was ever measured.
func (f Footprint) Bytes(sessions int) (int64, bool) {
	one, known := f.PeakBytes[1]
	widest := 1
	for n := range f.PeakBytes {
		widest = max(widest, n)
	}
	if !known || sessions < 1 {
		return f.LoadedBytes, known && sessions == 0
	}
	need := int64(0)
	for n, bytes := range f.PeakBytes { // what fewer sessions held, more hold as well
		if n <= sessions {
			need = max(need, bytes)
		}
	}
	each := one - f.LoadedBytes // the work space that sessions share is in it: too much rather than too little
	if widest > 1 {
		each = (f.PeakBytes[widest] - one + int64(widest) - 2) / int64(widest-1)
	}
	return max(need, one+max(each, 0)*int64(sessions-1)), true
}

// Engines is how many engines with so many sessions each fit into free bytes of a device. It is false where nothing was measured.
func (f Footprint) Engines(free int64, sessions int) (int, bool) {
	bytes, known := f.Bytes(sessions)
	if !known || bytes <= 0 {
		return 0, false
	}
	return int(max(free, 0) / bytes), true
}

// Sessions is how many sessions, at most so many, one engine can hold in free bytes of a device. It is false where nothing was measured.
func (f Footprint) Sessions(free int64, most int) (int, bool) {
	for n := most; n > 0; n-- {
		bytes, known := f.Bytes(n)
		if !known {
			return 0, false
		}
		if bytes <= free {
			return n, true
		}
	}
	return 0, true
}

// Footprints are those of many pipelines and devices, by FootprintKey.
type Footprints map[string]Footprint

// FootprintKey names a pipeline of one version on one kind of device, in groups of so many.
func FootprintKey(pipeline, version, device string, group int) string {
	return fmt.Sprintf("%s %s on %d x %s", pipeline, version, group, device)
}

// LoadFootprints reads a file; one that is not there is empty. A broken one is an error, and empty too: all of it can be measured again.
func LoadFootprints(path string) (Footprints, error) {
	all := Footprints{}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, fmt.Errorf("engine: footprints: %w", err)
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return Footprints{}, fmt.Errorf("engine: footprints in %s: %w", path, err)
	}
	return all, nil
}

// Save writes the file, whole or not at all. Of two processes that write at once the later wins, and the other measures again.
func (f Footprints) Save(path string) error {
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("engine: footprints: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("engine: footprints: %w", err)
	}
	_, err = file.Write(append(raw, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("engine: footprints: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
