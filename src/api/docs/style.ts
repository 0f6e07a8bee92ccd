/** Style sheet of the pages; colours follow the system's colour scheme. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1d2430, #dfe4ea);
  --soft: light-dark(#5b6675, #9aa5b1);
  --line: light-dark(#dde2e8, #323a45);
  --back: light-dark(#ffffff, #14181e);
  --panel: light-dark(#f5f7f9, #1b2027);
  --link: light-dark(#0b57b0, #7fb4f5);
}
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body {
  margin: 0; color: var(--text); background: var(--back);
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  display: grid; grid-template-columns: 19rem minmax(0, 1fr); grid-template-areas: 'header header' 'nav main';
}
header { grid-area: header; padding: 1.25rem 2rem; border-bottom: 1px solid var(--line) }
header h1 { margin: 0; font-size: 1.4rem }
header p { margin: 0; color: var(--soft) }
nav {
  grid-area: nav; position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1rem;
  border-right: 1px solid var(--line); background: var(--panel); font-size: .875rem;
}
nav p, nav details { margin: 0 0 .6rem }
nav summary { cursor: pointer; font-weight: 600 }
nav ul { list-style: none; margin: .2rem 0 0; padding: 0 }
nav li a { display: flex; gap: .4rem; align-items: baseline; padding: .15rem .25rem; border-radius: 4px; color: inherit; text-decoration: none }
nav li a:hover, nav li a:focus-visible { background: var(--line) }
main { grid-area: main; max-width: 60rem; padding: 1rem 2rem 6rem }
a { color: var(--link) }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.5rem }
section:first-child h2 { margin-top: .5rem }
article { margin: 1.5rem 0; padding: 1.25rem 0 0; border-top: 1px solid var(--line) }
article h3 { margin: 0 0 .3rem; font-size: 1.15rem }
article h4 { margin: 1.2rem 0 .3rem; font-size: .95rem }
.address { margin: 0 0 .6rem }
.method {
  display: inline-block; flex: none; min-width: 4.6em; padding: 0 .35em; border-radius: 4px; text-align: center;
  font: 600 .75em/1.6 ui-monospace, monospace; color: #fff; background: #4a5563;
}
.method.get { background: #1f6f43 }
.method.post { background: #0b57b0 }
.method.put { background: #8a5a00 }
.method.patch { background: #6b3fa0 }
.method.delete { background: #a32020 }
code { font: .9em ui-monospace, 'SF Mono', Menlo, Consolas, monospace; background: var(--panel); padding: .05em .25em; border-radius: 3px }
p code, li code, td:last-child code { overflow-wrap: anywhere }
pre { overflow-x: auto; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: 6px; background: var(--panel); line-height: 1.4 }
pre code { background: none; padding: 0 }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .9rem; margin: .3rem 0 }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 600 }
td:first-child { white-space: nowrap }
.note { color: light-dark(#a32020, #f08a8a); font-size: .8em }
.limits { color: var(--soft); font-size: .9em }
main details { margin-top: 1rem }
main summary { cursor: pointer; font-weight: 600; font-size: .95rem }
:target { scroll-margin-top: 1rem }
article:target h3 { text-decoration: underline; text-underline-offset: .3em }
.skip { position: absolute; left: -999rem }
.skip:focus { left: 1rem; top: 1rem; background: var(--back); padding: .5rem }
.search input { font: inherit; width: 100%; max-width: 30rem; padding: .4rem .6rem; border: 1px solid var(--soft); border-radius: 6px; color: inherit; background: var(--back) }
.search label { display: block; color: var(--soft) }
.operations { padding: 0; list-style: none }
.operations a { text-decoration: none }
.operations li { padding: .15rem 0 }
[hidden] { display: none }
@media (min-width: 52rem) { td:nth-child(2) { min-width: 7em } }
@media (max-width: 52rem) {
  .note { display: block }
  td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 7em }
  body { display: block }
  nav { position: static; height: auto; max-height: 40vh; border-right: 0; border-bottom: 1px solid var(--line) }
  main, header { padding-left: 1rem; padding-right: 1rem }
}
@media print { nav, .skip { display: none } body { display: block } }
`
