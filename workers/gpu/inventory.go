package gpu

import (
	"context"
	"encoding/hex"
	"fmt"
	"unsafe"
)

// Health is what is known about a GPU's condition.
type Health string

// Health values.
const (
	HealthOK      Health = "ok"      // telemetry answers and reports no fault
	HealthFaulty  Health = "faulty"  // telemetry reports a fault; Reason says which
	HealthUnknown Health = "unknown" // no telemetry, or it does not know
)

// DeviceInfo is what this machine tells about one GPU. Nil means unknown.
type DeviceInfo struct {
	Ordinal         int        `json:"ordinal"` // in this process's view
	UUID            string     `json:"uuid"`
	Name            string     `json:"name"`
	Capability      string     `json:"compute_capability"` // such as "9.0"
	Multiprocessors int        `json:"multiprocessors"`
	MemoryBytes     uint64     `json:"memory_bytes"`
	PCIBusID        string     `json:"pci_bus_id"`
	CUDAVersion     string     `json:"cuda_version"` // newest that the driver speaks
	DriverVersion   *string    `json:"driver_version"`
	Peers           []int      `json:"peers"` // ordinals whose memory this GPU can reach
	Health          Health     `json:"health"`
	HealthReason    string     `json:"health_reason,omitempty"`
	Telemetry       *Telemetry `json:"telemetry"`
}

// Telemetry is a reading of NVML. Each value that NVML does not give is nil.
type Telemetry struct {
	DriverVersion      *string  `json:"driver_version"`
	MemoryUsedBytes    *uint64  `json:"memory_used_bytes"`
	MemoryTotalBytes   *uint64  `json:"memory_total_bytes"`
	SMClockMHz         *uint32  `json:"sm_clock_mhz"`
	MemoryClockMHz     *uint32  `json:"memory_clock_mhz"`
	PowerWatts         *float64 `json:"power_watts"`
	PowerLimitWatts    *float64 `json:"power_limit_watts"`
	TemperatureCelsius *uint32  `json:"temperature_celsius"`
	UtilizationPercent *uint32  `json:"utilization_percent"`
	ECCUncorrected     *uint64  `json:"ecc_uncorrected"` // since the driver was loaded
	LinksActive        *int     `json:"links_active"`    // NVLink
}

// Inventory lists the GPUs of this machine without taking any of them. It returns
// ErrNoDriver or ErrNoDevice where there is nothing to list.
func Inventory(ctx context.Context) ([]DeviceInfo, error) {
	d, err := Open()
	if err != nil {
		return nil, err
	}
	t, err := openTelemetry()
	if err == nil {
		defer t.close()
	}
	return d.inventory(ctx, t)
}

// telemetry reads NVML; implementations differ by build.
type telemetry interface {
	read(uuid string) (*Telemetry, error)
	nextXid(ctx context.Context, uuid string) (uint64, error)
	close()
}

func (d *Driver) inventory(ctx context.Context, t telemetry) ([]DeviceInfo, error) {
	n, err := d.Count()
	if err != nil {
		return nil, err
	}
	var all []DeviceInfo
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := d.describeDevice(i, n)
		if err != nil {
			return nil, fmt.Errorf("gpu: inventory of device %d: %w", i, err)
		}
		info.judge(t)
		all = append(all, info)
	}
	return all, nil
}

// judge fills in what telemetry knows.
func (i *DeviceInfo) judge(t telemetry) {
	i.Health = HealthUnknown
	if t == nil {
		i.HealthReason = "no NVML on this machine"
		return
	}
	r, err := t.read(i.UUID)
	if err != nil {
		i.HealthReason = err.Error()
		return
	}
	i.Telemetry, i.DriverVersion = r, r.DriverVersion
	switch {
	case r.ECCUncorrected == nil:
		i.HealthReason = "NVML does not tell ECC errors"
	case *r.ECCUncorrected > 0:
		i.Health, i.HealthReason = HealthFaulty, fmt.Sprintf("%d uncorrected ECC errors", *r.ECCUncorrected)
	default:
		i.Health = HealthOK
	}
}

func (d *Driver) describeDevice(ordinal, count int) (DeviceInfo, error) {
	info := DeviceInfo{Ordinal: ordinal, CUDAVersion: fmt.Sprintf("%d.%d", d.version/1000, d.version%1000/10), Peers: []int{}}
	var dev int32
	if err := d.check("cuDeviceGet", d.p.get.Call(uintptr(unsafe.Pointer(&dev)), uintptr(ordinal))); err != nil {
		return info, err
	}
	const nameMax, busMax = 256, 32
	var name [nameMax]byte
	var bus [busMax]byte
	var id [16]byte
	calls := []error{
		d.check("cuDeviceGetName", d.p.name.Call(uintptr(unsafe.Pointer(&name[0])), nameMax, uintptr(dev))),
		d.check("cuDeviceTotalMem", d.p.totalMem.Call(uintptr(unsafe.Pointer(&info.MemoryBytes)), uintptr(dev))),
		d.check("cuDeviceGetUuid", d.p.uuid.Call(uintptr(unsafe.Pointer(&id[0])), uintptr(dev))),
		d.check("cuDeviceGetPCIBusId", d.p.pciBusID.Call(uintptr(unsafe.Pointer(&bus[0])), busMax, uintptr(dev))),
	}
	if err := joinFirst(calls...); err != nil {
		return info, err
	}
	info.Name, info.PCIBusID, info.UUID = cString(&name[0]), cString(&bus[0]), formatUUID(id)
	major, e1 := d.attribute(dev, attrMajor)
	minor, e2 := d.attribute(dev, attrMinor)
	sms, e3 := d.attribute(dev, attrSMs)
	if err := joinFirst(e1, e2, e3); err != nil {
		return info, err
	}
	info.Capability, info.Multiprocessors = fmt.Sprintf("%d.%d", major, minor), sms
	for p := range count {
		if p == ordinal {
			continue
		}
		var other, can int32
		err := joinFirst(
			d.check("cuDeviceGet", d.p.get.Call(uintptr(unsafe.Pointer(&other)), uintptr(p))),
			d.check("cuDeviceCanAccessPeer", d.p.canAccessPeer.Call(uintptr(unsafe.Pointer(&can)), uintptr(dev), uintptr(other))))
		if err != nil {
			return info, err
		}
		if can != 0 {
			info.Peers = append(info.Peers, p)
		}
	}
	return info, nil
}

// formatUUID writes a UUID as NVML does: GPU-8-4-4-4-12.
func formatUUID(b [16]byte) string {
	h := hex.EncodeToString(b[:])
	return "GPU-" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
