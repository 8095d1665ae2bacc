/* Stand-in for a system header. The C code of two dependencies compiles with it; nothing is linked. */
#define TARGET_OS_MAC 1
#define TARGET_OS_IPHONE 1
#define TARGET_OS_IOS 1
#define TARGET_OS_OSX 0
