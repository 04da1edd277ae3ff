// SPDX-License-Identifier: Apache-2.0
// How the search of the theme reads a query. A name such as hora_task is more than the beginning of
// hora_task_options, so the name itself comes first. Two colons would name a field of the index.
var __search = {
    transform: function (query) {
        "use strict";
        return query.replace(/"/g, " ").replace(/::/g, " ").replace(/(^|\s)[*+\-:^~]+(?=\s|$)/g, " ")
            .trim().replace(/\b\w+_\w+\b(?![\^*~])/g, "$&^20");
    }
};
