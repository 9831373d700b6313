// The bundled worker as text: see build.mjs.
declare module 'worker' {
  const source: string;
  export default source;
}
