//go:build cgo

package gpu

import (
	"context"
	"errors"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

// fakeCard makes the first GPU of a mocked machine answer telemetry; all answers have the same code.
func fakeCard(t *testing.T, code nvml.Return) (*goNVML, *server.Device) {
	t.Helper()
	srv := dgxh200.New()
	dev, ok := srv.Devices[0].(*server.Device)
	if !ok {
		t.Fatalf("mock device is %T", srv.Devices[0])
	}
	srv.DeviceGetHandleByUUIDFunc = func(string) (nvml.Device, nvml.Return) { return dev, nvml.SUCCESS }
	dev.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 150, Used: 50}, code }
	dev.GetClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 1980, code }
	dev.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 695500, code }
	dev.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return 700000, code }
	dev.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, code }
	dev.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 99}, code }
	dev.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) { return 0, code }
	dev.GetNvLinkStateFunc = func(int) (nvml.EnableState, nvml.Return) { return nvml.FEATURE_ENABLED, code }
	tele, err := newGoNVML(srv)
	if err != nil {
		t.Fatal(err)
	}
	return tele.(*goNVML), dev
}

func TestTelemetryOfAMockedH200(t *testing.T) {
	g, _ := fakeCard(t, nvml.SUCCESS)
	defer g.close()
	info := DeviceInfo{UUID: "GPU-x"}
	info.judge(g)
	r := info.Telemetry
	if info.Health != HealthOK || r == nil || *r.PowerWatts != 695.5 || *r.SMClockMHz != 1980 || *r.MemoryUsedBytes != 50 || *r.LinksActive != linksMax {
		t.Errorf("got %+v %+v", info, r)
	}
	if info.DriverVersion == nil || *info.DriverVersion == "" {
		t.Error("no driver version")
	}
}

func TestUnknownIsNilNotZero(t *testing.T) {
	g, _ := fakeCard(t, nvml.ERROR_UNKNOWN)
	defer g.close()
	info := DeviceInfo{UUID: "GPU-x"}
	info.judge(g)
	r := info.Telemetry
	if r == nil {
		t.Fatal("no reading")
	}
	if r.MemoryUsedBytes != nil || r.MemoryTotalBytes != nil || r.SMClockMHz != nil || r.PowerWatts != nil || r.PowerLimitWatts != nil ||
		r.TemperatureCelsius != nil || r.UtilizationPercent != nil || r.ECCUncorrected != nil || r.LinksActive != nil {
		t.Errorf("unknown values are not nil: %+v", r)
	}
	if info.Health != HealthUnknown || info.HealthReason == "" {
		t.Errorf("health %q (%q), want unknown with a reason", info.Health, info.HealthReason)
	}
}

func TestUncorrectedErrorsAreFaulty(t *testing.T) {
	g, dev := fakeCard(t, nvml.SUCCESS)
	defer g.close()
	dev.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) { return 3, nvml.SUCCESS }
	info := DeviceInfo{UUID: "GPU-x"}
	info.judge(g)
	if info.Health != HealthFaulty || info.HealthReason == "" {
		t.Errorf("health %q (%q), want faulty", info.Health, info.HealthReason)
	}
}

func TestXidArrives(t *testing.T) {
	g, dev := fakeCard(t, nvml.SUCCESS)
	defer g.close()
	dev.RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return nvml.SUCCESS }
	answers := []nvml.Return{nvml.ERROR_TIMEOUT, nvml.SUCCESS}
	set := &mock.EventSet{
		FreeFunc: func() nvml.Return { return nvml.SUCCESS },
		WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
			r := answers[0]
			answers = answers[1:]
			return nvml.EventData{EventData: 79}, r
		},
	}
	g.lib.(*server.Server).EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return set, nvml.SUCCESS }
	xid, err := g.nextXid(context.Background(), "GPU-x")
	if err != nil || xid != 79 {
		t.Errorf("got Xid %d, %v; want 79", xid, err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.nextXid(ended, "GPU-x"); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if len(set.FreeCalls()) != 2 {
		t.Errorf("event sets freed %d times, want 2", len(set.FreeCalls()))
	}
}
