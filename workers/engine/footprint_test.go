package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"telefuser/workers/engine"
)

const mib = int64(1) << 20

// phase is what an engine with so many sessions tells that holds so much of its devices; below 0 means unknown.
func phaseOf(sessions int, bytes ...int64) *engine.PhaseFacts {
	p := &engine.PhaseFacts{Sessions: sessions}
	for _, b := range bytes {
		var d engine.DevicePhase
		if overhead := int64(0); b >= 0 {
			d.EnginePeakBytes, d.OverheadBytes = &b, &overhead
		}
		p.Devices = append(p.Devices, d)
	}
	return p
}

func TestFootprintLearns(t *testing.T) {
	var f engine.Footprint
	now := time.Unix(1, 0)
	for i, step := range []struct {
		phase *engine.PhaseFacts
		news  bool
	}{
		{nil, false}, {phaseOf(0), false}, {phaseOf(1, -1), false}, {phaseOf(1, 5*mib, -1), false},
		{phaseOf(0, 10*mib), true}, {phaseOf(0, 10*mib), false}, {phaseOf(1, 30*mib, 20*mib), true}, {phaseOf(1, 29*mib), false},
		{phaseOf(3, 50*mib), true}, {phaseOf(1, 31*mib), true},
	} {
		if got := f.Learn(step.phase, now); got != step.news {
			t.Errorf("step %d: news %v", i, got)
		}
	}
	if f.LoadedBytes != 10*mib || f.PeakBytes[1] != 31*mib || f.PeakBytes[3] != 50*mib || !f.MeasuredAt.Equal(now) {
		t.Errorf("%+v", f)
	}
}

func TestFootprintTellsWhatFits(t *testing.T) {
	one := engine.Footprint{LoadedBytes: 10 * mib, PeakBytes: map[int]int64{1: 30 * mib}}
	three := engine.Footprint{LoadedBytes: 10 * mib, PeakBytes: map[int]int64{1: 30 * mib, 3: 50 * mib}}
	for _, test := range []struct {
		f        engine.Footprint
		sessions int
		want     int64
		known    bool
	}{
		{engine.Footprint{}, 1, 0, false},
		{engine.Footprint{LoadedBytes: mib}, 1, mib, false},
		{one, 0, 10 * mib, true},
		{one, 1, 30 * mib, true},
		{one, 2, 50 * mib, true}, // all that the first took, the second may take
		{three, 1, 30 * mib, true},
		{three, 2, 40 * mib, true},
		{three, 3, 50 * mib, true},
		{three, 5, 70 * mib, true},
	} {
		if got, known := test.f.Bytes(test.sessions); got != test.want || known != test.known {
			t.Errorf("%+v with %d sessions: %d MiB, %v", test.f, test.sessions, got/mib, known)
		}
	}
	if n, known := three.Engines(100*mib, 1); n != 3 || !known {
		t.Errorf("%d engines, %v", n, known)
	}
	if _, known := (engine.Footprint{}).Engines(100*mib, 1); known {
		t.Error("engines of unknown size")
	}
	for free, want := range map[int64]int{100 * mib: 8, 60 * mib: 4, 59 * mib: 3, 30 * mib: 1, 29 * mib: 0, -1: 0} {
		if n, known := three.Sessions(free, 8); n != want || !known {
			t.Errorf("%d MiB free: %d sessions, %v, want %d", free/mib, n, known, want)
		}
	}
}

func TestFootprintsSurviveAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "footprints.json")
	all, err := engine.LoadFootprints(path)
	if err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	key := engine.FootprintKey("p", "1", "Card", 2)
	all[key] = engine.Footprint{LoadedBytes: 1, PeakBytes: map[int]int64{2: 3}, MeasuredAt: time.Unix(5, 0).UTC()}
	if err := all.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := engine.LoadFootprints(path)
	if got := again[key]; err != nil || got.PeakBytes[2] != 3 || !got.MeasuredAt.Equal(time.Unix(5, 0)) {
		t.Errorf("%+v, %v", again, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if broken, err := engine.LoadFootprints(path); err == nil || broken == nil || len(broken) != 0 {
		t.Errorf("a broken file: %v, %v", broken, err)
	}
	if err := all.Save(filepath.Join(path, "no", "folder")); err == nil {
		t.Error("saved into nothing")
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
