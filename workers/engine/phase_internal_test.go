package engine

import (
	"context"
	"sync"
	"testing"
	"time"
)

// TestFreshReadingBeginsAfterTheCall: what is read then is true of now.
func TestFreshReadingBeginsAfterTheCall(t *testing.T) {
	var now uint32
	var lock sync.Mutex
	p := newPhases(func() []DeviceReading {
		lock.Lock()
		defer lock.Unlock()
		clock := now
		return []DeviceReading{{SMClockMHz: &clock}}
	}, func() []DeviceMemory { return []DeviceMemory{{}} })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.run(ctx)
	}()
	lock.Lock()
	now = 1980
	lock.Unlock()
	ph := p.begin()
	p.fresh()
	stop()
	<-ended
	if d := ph.end(0).Devices[0]; d.Readings < 1 || *d.SMClockMHz != 1980 {
		t.Errorf("%+v", d)
	}
	newPhases(nil, nil).fresh() // no device, nothing to wait for
}

// TestServerDoesNotWaitForAHangingTool: a driver whose card is gone may never answer again.
func TestServerDoesNotWaitForAHangingTool(t *testing.T) {
	var beside sync.WaitGroup
	hangs := make(chan struct{})
	beside.Go(func() { <-hangs })
	waitFor(&beside, time.Millisecond) // it is back, so the test goes on
	close(hangs)
	waitFor(&beside, time.Hour)
}

func TestPhaseTellsMeansAndPeaksOfWhatIsKnown(t *testing.T) {
	reading := func(clock, temperature uint32, watts float64) DeviceReading {
		return DeviceReading{SMClockMHz: &clock, TemperatureCelsius: &temperature, PowerWatts: &watts}
	}
	peak := int64(5)
	p := newPhases(func() []DeviceReading { return nil }, func() []DeviceMemory { return []DeviceMemory{{PeakBytes: &peak}, {}} })
	early := p.begin()
	p.note([]DeviceReading{reading(1000, 50, 100), {}})
	late := p.begin()
	p.note([]DeviceReading{reading(2000, 40, 300), {}})
	p.note([]DeviceReading{{}, {}})
	facts := early.end(3)
	d := facts.Devices[0]
	if facts.Sessions != 3 || d.Readings != 3 || *d.SMClockMHz != 1500 || *d.PowerWatts != 200 || *d.TemperatureCelsius != 50 || *d.EnginePeakBytes != 5 || d.OverheadBytes != nil {
		t.Errorf("%+v", d)
	}
	if u := facts.Devices[1]; u.Readings != 3 || u.SMClockMHz != nil || u.TemperatureCelsius != nil || u.EnginePeakBytes != nil {
		t.Errorf("unknown is not nil: %+v", u)
	}
	if d := late.end(1).Devices[0]; *d.SMClockMHz != 2000 || d.Readings != 2 {
		t.Errorf("the later phase: %+v", d)
	}
	p.note([]DeviceReading{reading(1, 1, 1)})
	if p.any() {
		t.Error("a phase that ended is open")
	}
	if facts := newPhases(nil, nil).begin().end(1); facts != nil {
		t.Errorf("no device: %+v", facts)
	}
	if over := p.begin().end(1).Devices[0]; over.Readings != 0 || over.SMClockMHz != nil || *over.EnginePeakBytes != 5 {
		t.Errorf("over before a reading: %+v", over)
	}
}
