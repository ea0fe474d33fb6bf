// @ts-check

/** @type {Promise<void> | null} */
let vendored = null;

/**
 * Load what draws graphs, once, if the page does not hold it already.
 * @returns {Promise<void>} fails where it cannot be loaded
 */
export function loadVendored() {
  if (typeof Sigma !== "undefined") return Promise.resolve();
  vendored ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.querySelector('meta[name="vendored"]')?.getAttribute("content") ?? "";
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => {
      vendored = null;
      script.remove();
      reject(new Error("The graph library could not be loaded."));
    });
    document.head.append(script);
  });
  return vendored;
}

/**
 * @returns {boolean} whether this browser draws by WebGL
 */
export function hasWebGL() {
  if (typeof WebGLRenderingContext === "undefined") return false;
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("webgl2") ?? canvas.getContext("webgl");
  // A browser keeps few of them at a time.
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
}
