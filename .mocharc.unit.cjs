const { unitTests } = require('./tools/unit-tests.cjs')

/** As all tests are run, without a server. */
module.exports = { ...require('./.mocharc.json'), require: [], spec: unitTests() }
