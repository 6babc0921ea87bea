package gpu

import (
	"fmt"
	"unsafe"
)

// procs are the driver's functions that this package calls.
type procs struct {
	errorString, init, version                                            Proc
	count, get, name, attribute, totalMem, uuid, pciBusID, canAccessPeer  Proc
	ctxRetain, ctxRelease, ctxSetCurrent, ctxSync, enablePeer             Proc
	memAlloc, memFree, memInfo, hostAlloc, hostFree                       Proc
	copyIn, copyOut, copyOn, copyPeer, copy2D, setD8, setD32              Proc
	streamCreate, streamDestroy, streamSync, streamQuery, streamWait      Proc
	eventCreate, eventDestroy, eventRecord, eventSync, eventElapsed       Proc
	captureBegin, captureEnd, graphInstantiate, graphLaunch, graphDestroy Proc
	graphExecDestroy, graphUpload, graphNodes                             Proc
	moduleLoad, moduleUnload, moduleFunction, funcAttribute, funcSet      Proc
	launch, launchEx, tensorMap                                           Proc
}

func (p *procs) table() map[string]*Proc {
	return map[string]*Proc{
		"cuGetErrorString": &p.errorString, "cuInit": &p.init, "cuDriverGetVersion": &p.version,
		"cuDeviceGetCount": &p.count, "cuDeviceGet": &p.get, "cuDeviceGetName": &p.name,
		"cuDeviceGetAttribute": &p.attribute, "cuDeviceTotalMem_v2": &p.totalMem,
		"cuDeviceGetUuid_v2": &p.uuid, "cuDeviceGetPCIBusId": &p.pciBusID, "cuDeviceCanAccessPeer": &p.canAccessPeer,
		"cuDevicePrimaryCtxRetain": &p.ctxRetain, "cuDevicePrimaryCtxRelease_v2": &p.ctxRelease,
		"cuCtxSetCurrent": &p.ctxSetCurrent, "cuCtxSynchronize": &p.ctxSync, "cuCtxEnablePeerAccess": &p.enablePeer,
		"cuMemAlloc_v2": &p.memAlloc, "cuMemFree_v2": &p.memFree, "cuMemGetInfo_v2": &p.memInfo,
		"cuMemHostAlloc": &p.hostAlloc, "cuMemFreeHost": &p.hostFree,
		"cuMemcpyHtoDAsync_v2": &p.copyIn, "cuMemcpyDtoHAsync_v2": &p.copyOut, "cuMemcpyDtoDAsync_v2": &p.copyOn,
		"cuMemcpyPeerAsync": &p.copyPeer, "cuMemcpy2DAsync_v2": &p.copy2D,
		"cuMemsetD8Async": &p.setD8, "cuMemsetD32Async": &p.setD32,
		"cuStreamCreate": &p.streamCreate, "cuStreamDestroy_v2": &p.streamDestroy,
		"cuStreamSynchronize": &p.streamSync, "cuStreamQuery": &p.streamQuery, "cuStreamWaitEvent": &p.streamWait,
		"cuEventCreate": &p.eventCreate, "cuEventDestroy_v2": &p.eventDestroy, "cuEventRecord": &p.eventRecord,
		"cuEventSynchronize": &p.eventSync, "cuEventElapsedTime": &p.eventElapsed,
		"cuStreamBeginCapture_v2": &p.captureBegin, "cuStreamEndCapture": &p.captureEnd,
		"cuGraphInstantiateWithFlags": &p.graphInstantiate, "cuGraphLaunch": &p.graphLaunch,
		"cuGraphDestroy": &p.graphDestroy, "cuGraphExecDestroy": &p.graphExecDestroy,
		"cuGraphUpload": &p.graphUpload, "cuGraphGetNodes": &p.graphNodes,
		"cuModuleLoadDataEx": &p.moduleLoad, "cuModuleUnload": &p.moduleUnload,
		"cuModuleGetFunction": &p.moduleFunction, "cuFuncGetAttribute": &p.funcAttribute,
		"cuFuncSetAttribute": &p.funcSet, "cuLaunchKernel": &p.launch, "cuLaunchKernelEx": &p.launchEx, "cuTensorMapEncodeTiled": &p.tensorMap,
	}
}

// Driver is the CUDA driver of this machine.
type Driver struct {
	p       procs
	version int
}

// libraryNames are where a driver's library is looked for: the loader's own search
// first, then the place where the container toolkit mounts it.
func libraryNames() []string {
	return []string{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"}
}

// Open loads the CUDA driver; more paths may be given and come first. It returns
// ErrNoDriver on a machine without one and ErrNoDevice where the driver shows no GPU.
func Open(paths ...string) (*Driver, error) { return open(append(paths, libraryNames()...)) }

func open(names []string) (*Driver, error) {
	lib, err := OpenLibrary(names...)
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", ErrNoDriver, err)
	}
	d := &Driver{}
	if err := lib.Procs(d.p.table()); err != nil {
		return nil, fmt.Errorf("%w: the driver is too old (%v)", ErrNoDriver, err)
	}
	if err := d.check("cuInit", d.p.init.Call(0)); err != nil {
		return nil, err
	}
	var v int32
	if err := d.check("cuDriverGetVersion", d.p.version.Call(uintptr(unsafe.Pointer(&v)))); err != nil {
		return nil, err
	}
	d.version = int(v)
	n, err := d.Count()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, ErrNoDevice
	}
	return d, nil
}

// CUDAVersion is the newest CUDA that the driver speaks, such as 13000 for 13.0.
func (d *Driver) CUDAVersion() int { return d.version }

// Count is how many GPUs this process sees.
func (d *Driver) Count() (int, error) {
	var n int32
	err := d.check("cuDeviceGetCount", d.p.count.Call(uintptr(unsafe.Pointer(&n))))
	return int(n), err
}

// check translates a driver's answer.
func (d *Driver) check(op string, r uintptr) error {
	code := Code(int32(r))
	if code == 0 {
		return nil
	}
	return &Error{Op: op, Code: code, Detail: d.describe(code)}
}

func (d *Driver) describe(c Code) string {
	var p *byte
	d.p.errorString.Call(uintptr(c), uintptr(unsafe.Pointer(&p)))
	if p == nil {
		return "unknown code"
	}
	return cString(p)
}

// cString copies a C string of at most 4096 bytes.
func cString(p *byte) string {
	n := 0
	for n < 4096 && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
