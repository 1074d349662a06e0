// Points by WebGL: 50,000 of them move smoothly. Shaders are text for the graphics driver, so a strict policy allows them.

const VERTEX = `
  attribute vec3 position;
  attribute vec3 color;
  attribute vec3 style; // shape, hollow, size
  uniform mat4 view;
  uniform float pixelRatio;
  varying vec3 shade;
  varying vec4 look;
  void main() {
    gl_Position = view * vec4(position, 1.0);
    gl_PointSize = (style.z + 2.0) * pixelRatio;
    shade = color;
    look = vec4(style.xy, style.z * pixelRatio, 1.4 * pixelRatio); // the last is the width of a ring
  }`;

const FRAGMENT = `
  precision mediump float;
  uniform float opacity;
  varying vec3 shade;
  varying vec4 look;
  float reach(vec2 p) {
    if (look.x < 0.5) return length(p);
    if (look.x < 1.5) return max(abs(p.x), abs(p.y)) * 1.15;
    if (look.x < 2.5) return abs(p.x) + abs(p.y);
    return max(p.y * 1.2 + 0.2, abs(p.x) * 1.2 - p.y * 0.6 + 0.3);
  }
  void main() {
    float radius = look.z * 0.5;
    vec2 p = (gl_PointCoord - 0.5) * (look.z + 2.0) / radius;
    float edge = 1.2 / radius;
    float distance = reach(p);
    float alpha = 1.0 - smoothstep(1.0 - edge, 1.0, distance);
    float width = look.w / radius;
    alpha *= look.y > 0.5 ? smoothstep(1.0 - width - edge, 1.0 - width, distance) : opacity;
    gl_FragColor = vec4(shade * alpha, alpha);
  }`;

const ATTRIBUTES = [
  ["position", 3, "FLOAT", false],
  ["color", 3, "UNSIGNED_BYTE", true],
  ["style", 3, "FLOAT", false],
];

export class PointLayer {
  // Throws where the browser has no WebGL.
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl", { antialias: false, premultipliedAlpha: true });
    if (!this.gl) throw new Error("no WebGL");
    this.count = 0;
    this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault()); // or it would not be restored
    canvas.addEventListener(
      "webglcontextrestored",
      () => (this.prepare(), this.setPoints(this.given), this.draw(...this.drawn)),
    );
  }

  // Browsers keep few contexts: a picture that is not shown any more gives its own back.
  dispose() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.uniform = (name) => gl.getUniformLocation(program, name);
    this.buffers = ATTRIBUTES.map(([name, size, type, normalized]) => {
      const buffer = gl.createBuffer();
      const place = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl[type], normalized, 0, 0);
      return buffer;
    });
  }

  // { positions: Float32Array, colors: Uint8Array, styles: Float32Array }, three numbers a point each.
  setPoints(given) {
    const { gl } = this;
    this.given = given;
    this.count = given.positions.length / 3;
    [given.positions, given.colors, given.styles].forEach((data, index) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[index]);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    });
  }

  draw(view, opacity) {
    const { gl, canvas } = this;
    const ratio = devicePixelRatio;
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    this.drawn = [view, opacity];
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniformMatrix4fv(this.uniform("view"), false, view);
    gl.uniform1f(this.uniform("pixelRatio"), ratio);
    gl.uniform1f(this.uniform("opacity"), opacity);
    gl.drawArrays(gl.POINTS, 0, this.count);
  }
}
