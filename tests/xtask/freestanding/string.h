/* What the C code of two dependencies asks of a system that is not here: enough to compile it, nothing to link. */
#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
