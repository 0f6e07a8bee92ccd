import type { Measured } from './model.ts'

/** Output of `npm run bench -- --only scale-costs`. */
export const MEASURED: Measured = {
  of: '2026-11-23, Postgres 18.4 (fsync on) and Node 20.20 on two cores of their own',
  costs: {
    sale: {
      alone: {
        service_us: 2091,
        postgres_us: 2092,
      },
      crowded: {
        service_us: 597,
        postgres_us: 436,
      },
      crowd: 32,
      alone_ms: 4.3,
    },
    upload: {
      alone: {
        service_us: 3532,
        postgres_us: 3297,
      },
      crowded: {
        service_us: 2100,
        postgres_us: 1780,
      },
      crowd: 32,
      alone_ms: 6.9,
    },
    opening: {
      alone: {
        service_us: 1843,
        postgres_us: 1369,
      },
      crowded: {
        service_us: 989,
        postgres_us: 1131,
      },
      crowd: 32,
      alone_ms: 3.7,
    },
    poll: {
      alone: {
        service_us: 757,
        postgres_us: 785,
      },
      crowded: {
        service_us: 331,
        postgres_us: 380,
      },
      crowd: 32,
      alone_ms: 1.6,
    },
    page: {
      alone: {
        service_us: 4002,
        postgres_us: 2331,
      },
      crowded: {
        service_us: 3211,
        postgres_us: 2122,
      },
      crowd: 32,
      alone_ms: 6.3,
    },
    report: {
      alone: {
        service_us: 1995,
        postgres_us: 1638,
      },
      crowded: {
        service_us: 856,
        postgres_us: 1036,
      },
      crowd: 32,
      alone_ms: 4.6,
    },
    delivery: {
      alone: {
        service_us: 1952,
        postgres_us: 2776,
      },
      crowded: {
        service_us: 697,
        postgres_us: 600,
      },
      crowd: 32,
      alone_ms: 7.6,
    },
    growth: {
      alone: {
        service_us: 2658,
        postgres_us: 705,
      },
      crowded: {
        service_us: 2658,
        postgres_us: 705,
      },
      crowd: 1,
      alone_ms: 3.3,
    },
    check: {
      alone: {
        service_us: 15604,
        postgres_us: 84580,
      },
      crowded: {
        service_us: 15604,
        postgres_us: 84580,
      },
      crowd: 1,
      alone_ms: 83.2,
    },
  },
  idle: {
    service_us: 14423,
    postgres_us: 5862,
  },
  bytesASale: 3756,
  passingBytesASale: 1423,
  walBytesASale: 7833,
}
