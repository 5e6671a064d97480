--- What pages of attention do under the pointer and the keys: the number of a cell, with its words,
--- at once.
---
--- The pointer or a tap shows a cell; Tab goes from panel to panel, the arrow keys, Home and End
--- from cell to cell, Escape hides. Without scripts a page shows its shades all the same.

local pointer = {}

pointer.STYLE = table.concat {
    ".heed-panel{outline:none}.heed-panel .heed-line{pointer-events:all}",
    ".heed-panel:focus-visible .heed-line{stroke:currentColor}.heed-numbers{pointer-events:none}",
    ".heed-mark{fill:none;stroke:currentColor;stroke-width:1.5;pointer-events:none}",
    ".heed text.heed-lit{font-weight:700}",
    ".heed-box{position:fixed;visibility:hidden;pointer-events:none;padding:3px "
        .. "8px;border-radius:4px;background:#1c2128;color:#fff;",
    "font-size:13px;max-width:calc(100vw - 30px);overflow-wrap:anywhere}",
    "@media(prefers-color-scheme:dark){.heed-box{background:#e5e8ec;color:#14171b}}",
}

pointer.SCRIPT = [[
(function () {
    "use strict";
    var mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    var box = document.createElement("div");
    var lit = [];
    mark.setAttribute("class", "heed-mark");
    box.className = "heed-box";
    box.setAttribute("role", "status");
    document.body.appendChild(box);

    function panelOf(node) { return node && node.closest && node.closest(".heed-panel"); }

    function gridOf(panel) {
        if (!panel.heed) {
            var at = panel.dataset.at.split(" ").map(Number), words = panel.ownerSVGElement.dataset;
            panel.heed = { left: at[0], top: at[1], cell: at[2], step: at[3], i: 0, j: 0, x: words.x.split("\n"), y: words.y.split("\n"),
                rows: panel.dataset.weights.split(";").map(function (row) { return row.split(","); }) };
        }
        return panel.heed;
    }

    function hide() {
        lit.forEach(function (label) { label.classList.remove("heed-lit"); });
        lit = [];
        mark.remove();
        box.style.visibility = "hidden";
    }

    function light(panel, side, at, step) {
        if (at % step !== 0) return;
        var label = panel.querySelector(side).children[at / step];
        label.classList.add("heed-lit");
        lit.push(label);
    }

    // Words may run from right to left: each keeps its place.
    function word(text) {
        var element = document.createElement("bdi");
        element.textContent = text;
        return element;
    }

    function number(panel, text) {
        return isNaN(text) || panel.dataset.exact ? text : Number(text).toFixed(3);
    }

    // Below the cell, or above it where the window ends.
    function place() {
        var cell = mark.getBoundingClientRect(), size = box.getBoundingClientRect();
        var below = cell.bottom + 8, left = cell.left + cell.width / 2 - size.width / 2;
        if (below + size.height > innerHeight) below = cell.top - 8 - size.height;
        box.style.left = Math.max(4, Math.min(left, document.documentElement.clientWidth - size.width - 4)) + "px";
        box.style.top = Math.max(4, below) + "px";
    }

    function show(panel, i, j) {
        var grid = gridOf(panel);
        hide();
        grid.i = i;
        grid.j = j;
        mark.setAttribute("x", grid.left + j * grid.cell - 0.5);
        mark.setAttribute("y", grid.top + i * grid.cell - 0.5);
        mark.setAttribute("width", grid.cell);
        mark.setAttribute("height", grid.cell);
        panel.appendChild(mark);
        light(panel, ".heed-y", i, grid.step);
        light(panel, ".heed-x", j, grid.step);
        box.replaceChildren(word(grid.y[i]), " → ", word(grid.x[j]), ": " + number(panel, grid.rows[i][j]));
        place();
        box.style.visibility = "visible";
    }

    function point(event) {
        var panel = panelOf(event.target);
        if (!panel) return hide();
        var grid = gridOf(panel), at = new DOMPoint(event.clientX, event.clientY).matrixTransform(panel.getScreenCTM().inverse());
        var i = Math.floor((at.y - grid.top) / grid.cell), j = Math.floor((at.x - grid.left) / grid.cell);
        if (i < 0 || j < 0 || i >= grid.y.length || j >= grid.x.length) return hide();
        show(panel, i, j);
    }

    document.addEventListener("pointermove", point);
    document.addEventListener("pointerdown", point);
    document.addEventListener("scroll", hide, true);
    document.addEventListener("focusout", hide);
    document.addEventListener("focusin", function (event) {
        var panel = panelOf(event.target);
        if (panel && panel.matches(":focus-visible")) show(panel, gridOf(panel).i, gridOf(panel).j);
    });
    document.addEventListener("keydown", function (event) {
        var panel = panelOf(document.activeElement);
        if (!panel || event.ctrlKey || event.metaKey || event.altKey) return;
        var grid = gridOf(panel), i = grid.i, j = grid.j;
        if (event.key === "ArrowDown") i++;
        else if (event.key === "ArrowUp") i--;
        else if (event.key === "ArrowRight") j++;
        else if (event.key === "ArrowLeft") j--;
        else if (event.key === "Home") j = 0;
        else if (event.key === "End") j = grid.x.length - 1;
        else if (event.key === "Escape") return hide();
        else return;
        event.preventDefault();
        show(panel, Math.max(0, Math.min(i, grid.y.length - 1)), Math.max(0, Math.min(j, grid.x.length - 1)));
    });
})();
]]

return pointer
