/* NVRTC that compiles nothing, for tests: with it and the fake driver cuDNN plans engines that it compiles at run time
   in no time at all. It says yes to everything; what the true one refuses is in tests/golden/cudnn_uncompilable_*.txt.
   A cubin is never looked into, as nothing is run. */
#include <stddef.h>
#include <string.h>

static int token;

int nvrtcVersion(int* major, int* minor) {
    *major = MPT_NVRTC_MAJOR;
    *minor = MPT_NVRTC_MINOR;
    return 0;
}
int nvrtcCreateProgram(void** program) {
    *program = &token;
    return 0;
}
/* What cuDNN makes programs by. */
int __nvrtcCPEx(void** program) {
    return nvrtcCreateProgram(program);
}
int nvrtcDestroyProgram(void** program) {
    *program = NULL;
    return 0;
}
int nvrtcCompileProgram(void) {
    return 0;
}
int nvrtcGetCUBINSize(void* program, size_t* bytes) {
    (void)program;
    *bytes = 64;
    return 0;
}
int nvrtcGetCUBIN(void* program, char* cubin) {
    (void)program;
    memset(cubin, 0, 64);
    return 0;
}
int nvrtcGetPTXSize(void* program, size_t* bytes) {
    return nvrtcGetCUBINSize(program, bytes);
}
int nvrtcGetPTX(void* program, char* ptx) {
    return nvrtcGetCUBIN(program, ptx);
}
int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
    (void)program;
    *bytes = 1;
    return 0;
}
int nvrtcGetProgramLog(void* program, char* log) {
    (void)program;
    *log = 0;
    return 0;
}
const char* nvrtcGetErrorString(int error) {
    (void)error;
    return "";
}
