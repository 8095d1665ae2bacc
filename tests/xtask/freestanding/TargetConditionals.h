/* What the C code of two dependencies asks of a system that is not here: enough to compile it, nothing to link. */
#define TARGET_OS_MAC 1
#define TARGET_OS_IPHONE 1
#define TARGET_OS_IOS 1
#define TARGET_OS_OSX 0
