//go:build !cgo

package gpu

import (
	"context"
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// Values of NVML's enumerations.
const (
	nvmlTimeout       = 10
	nvmlClockSM       = 1
	nvmlClockMem      = 2
	nvmlTempGPU       = 0
	nvmlUncorrected   = 1
	nvmlVolatile      = 0
	nvmlXidCritical   = 8
	nvmlVersionLenMax = 96
)

// libNVML reads the few values that the service shows, without cgo.
type libNVML struct {
	initLib, shutdown, byUUID, driverVersion, memory, clock, power, powerLimit Proc
	temperature, utilization, ecc, linkState                                   Proc
	setCreate, setFree, register, setWait                                      Proc
}

func openTelemetry() (telemetry, error) {
	return openNVML("libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1")
}

func openNVML(paths ...string) (telemetry, error) {
	lib, err := OpenLibrary(paths...)
	if err != nil {
		return nil, err
	}
	n := &libNVML{}
	err = lib.Procs(map[string]*Proc{
		"nvmlInit_v2": &n.initLib, "nvmlShutdown": &n.shutdown, "nvmlDeviceGetHandleByUUID": &n.byUUID,
		"nvmlSystemGetDriverVersion": &n.driverVersion, "nvmlDeviceGetMemoryInfo": &n.memory,
		"nvmlDeviceGetClockInfo": &n.clock, "nvmlDeviceGetPowerUsage": &n.power,
		"nvmlDeviceGetEnforcedPowerLimit": &n.powerLimit, "nvmlDeviceGetTemperature": &n.temperature,
		"nvmlDeviceGetUtilizationRates": &n.utilization, "nvmlDeviceGetTotalEccErrors": &n.ecc,
		"nvmlDeviceGetNvLinkState": &n.linkState, "nvmlEventSetCreate": &n.setCreate, "nvmlEventSetFree": &n.setFree,
		"nvmlDeviceRegisterEvents": &n.register, "nvmlEventSetWait_v2": &n.setWait,
	})
	if err != nil {
		return nil, err
	}
	if r := int32(n.initLib.Call()); r != 0 {
		return nil, fmt.Errorf("%w: init: code %d", errNVML, r)
	}
	return n, nil
}

func (n *libNVML) close() { n.shutdown.Call() }

func (n *libNVML) device(uuid string) (uintptr, error) {
	id := append([]byte(uuid), 0)
	var d uintptr
	if r := int32(n.byUUID.Call(uintptr(unsafe.Pointer(&id[0])), uintptr(unsafe.Pointer(&d)))); r != 0 {
		return 0, fmt.Errorf("%w: device %s: code %d", errNVML, uuid, r)
	}
	return d, nil
}

func (n *libNVML) read(uuid string) (*Telemetry, error) {
	d, err := n.device(uuid)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{}
	version := make([]byte, nvmlVersionLenMax)
	if n.driverVersion.Call(uintptr(unsafe.Pointer(&version[0])), nvmlVersionLenMax) == 0 {
		v := cString(&version[0])
		t.DriverVersion = &v
	}
	var mem [3]uint64 // total, free, used
	if n.memory.Call(d, uintptr(unsafe.Pointer(&mem[0]))) == 0 {
		t.MemoryTotalBytes, t.MemoryUsedBytes = &mem[0], &mem[2]
	}
	t.SMClockMHz = n.u32(n.clock, d, nvmlClockSM)
	t.MemoryClockMHz = n.u32(n.clock, d, nvmlClockMem)
	t.PowerWatts = watts(n.u32(n.power, d))
	t.PowerLimitWatts = watts(n.u32(n.powerLimit, d))
	t.TemperatureCelsius = n.u32(n.temperature, d, nvmlTempGPU)
	var use [2]uint32 // of the multiprocessors, of the memory
	if n.utilization.Call(d, uintptr(unsafe.Pointer(&use[0]))) == 0 {
		t.UtilizationPercent = &use[0]
	}
	var ecc uint64
	if n.ecc.Call(d, nvmlUncorrected, nvmlVolatile, uintptr(unsafe.Pointer(&ecc))) == 0 {
		t.ECCUncorrected = &ecc
	}
	t.LinksActive = activeLinks(func(link int) (bool, bool) {
		var on uint32
		r := n.linkState.Call(d, uintptr(link), uintptr(unsafe.Pointer(&on)))
		return on == 1, r == 0
	})
	return t, nil
}

// u32 calls a getter whose last parameter is the result's address.
func (n *libNVML) u32(p Proc, d uintptr, arg ...uintptr) *uint32 {
	v := new(uint32)
	var r uintptr
	if len(arg) == 0 {
		r = p.Call(d, uintptr(unsafe.Pointer(v)))
	} else {
		r = p.Call(d, arg[0], uintptr(unsafe.Pointer(v)))
	}
	if r != 0 {
		return nil
	}
	return v
}

func (n *libNVML) nextXid(ctx context.Context, uuid string) (uint64, error) {
	d, err := n.device(uuid)
	if err != nil {
		return 0, err
	}
	var set uintptr
	if r := int32(n.setCreate.Call(uintptr(unsafe.Pointer(&set)))); r != 0 {
		return 0, fmt.Errorf("%w: event set: code %d", errNVML, r)
	}
	defer n.setFree.Call(set)
	if r := int32(n.register.Call(d, nvmlXidCritical, set)); r != 0 {
		return 0, fmt.Errorf("%w: register events: code %d", errNVML, r)
	}
	for ctx.Err() == nil {
		var e struct { // nvmlEventData_t
			device     uintptr
			kind, data uint64
			gi, ci     uint32
		}
		r := int32(n.setWait.Call(set, uintptr(unsafe.Pointer(&e)), uintptr(xidPoll/time.Millisecond)))
		runtime.KeepAlive(&e)
		switch r {
		case 0:
			return e.data, nil
		case nvmlTimeout:
		default:
			return 0, fmt.Errorf("%w: wait for events: code %d", errNVML, r)
		}
	}
	return 0, ctx.Err()
}
