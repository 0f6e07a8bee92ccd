import type { Measured } from './model.ts'

/** As `npm run bench -- --only scale-costs` printed it. */
export const MEASURED: Measured = {
  of: '2026-11-23, Postgres 18.4 (fsync on) and Node 20.20 on two cores that had ten times as much to do',
  costs: {
    sale: {
      alone: {
        service_us: 4147,
        postgres_us: 2291,
      },
      crowded: {
        service_us: 2125,
        postgres_us: 628,
      },
      crowd: 32,
      alone_ms: 32.7,
    },
    upload: {
      alone: {
        service_us: 6248,
        postgres_us: 3812,
      },
      crowded: {
        service_us: 4866,
        postgres_us: 2548,
      },
      crowd: 32,
      alone_ms: 49.7,
    },
    opening: {
      alone: {
        service_us: 3128,
        postgres_us: 1549,
      },
      crowded: {
        service_us: 3960,
        postgres_us: 2149,
      },
      crowd: 32,
      alone_ms: 17.4,
    },
    poll: {
      alone: {
        service_us: 1347,
        postgres_us: 1445,
      },
      crowded: {
        service_us: 684,
        postgres_us: 388,
      },
      crowd: 32,
      alone_ms: 12.6,
    },
    page: {
      alone: {
        service_us: 3000,
        postgres_us: 1139,
      },
      crowded: {
        service_us: 2405,
        postgres_us: 625,
      },
      crowd: 32,
      alone_ms: 15.4,
    },
    report: {
      alone: {
        service_us: 3450,
        postgres_us: 1855,
      },
      crowded: {
        service_us: 846,
        postgres_us: 454,
      },
      crowd: 32,
      alone_ms: 25.2,
    },
    delivery: {
      alone: {
        service_us: 4260,
        postgres_us: 4857,
      },
      crowded: {
        service_us: 562,
        postgres_us: 695,
      },
      crowd: 32,
      alone_ms: 95.8,
    },
    growth: {
      alone: {
        service_us: 3319,
        postgres_us: 1250,
      },
      crowded: {
        service_us: 3319,
        postgres_us: 1250,
      },
      crowd: 1,
      alone_ms: 56.9,
    },
    check: {
      alone: {
        service_us: 35488,
        postgres_us: 101875,
      },
      crowded: {
        service_us: 35488,
        postgres_us: 101875,
      },
      crowd: 1,
      alone_ms: 808.6,
    },
  },
  idle: {
    service_us: 13333,
    postgres_us: 3333,
  },
  bytesASale: 3447,
  passingBytesASale: 1244,
  walBytesASale: 7964,
}
