import { setFlagsFromString } from 'node:v8'

/**
 * Collects old objects after 60 % growth. By default V8 lets them grow fourfold: the service under sales then takes 300
 * MiB instead of 190, a rebuild 245 instead of 175, and neither is faster.
 */
export const lowerHeapGrowth = (): void => setFlagsFromString('--heap-growing-percent=60')
